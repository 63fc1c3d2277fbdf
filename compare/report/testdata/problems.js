// What is wrong with the page as it is shown, a sentence each.
(() => {
	const wrong = [];
	const visible = e => e.getClientRects().length > 0 && e.getBoundingClientRect().width > 0 && e.getBoundingClientRect().height > 0;
	const all = (selector, within = document) => [...within.querySelectorAll(selector)];
	const name = e => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + " " + JSON.stringify((e.textContent || "").trim().slice(0, 40));

	const root = document.documentElement;
	if (root.scrollWidth > innerWidth) wrong.push(`overflow: the page is ${root.scrollWidth} wide, the window ${innerWidth}`);

	if (all("h1").length !== 1) wrong.push("headings: not one h1");
	let level = 0;
	for (const h of all("h1, h2, h3, h4")) {
		const next = Number(h.tagName[1]);
		if (next > level + 1) wrong.push(`headings: a level is left out before ${name(h)}`);
		if (!visible(h)) wrong.push(`headings: ${name(h)} is not to be seen`);
		level = next;
	}

	const seen = new Set();
	for (const e of all("[id]")) {
		if (seen.has(e.id)) wrong.push(`ids: ${e.id} is there twice`);
		seen.add(e.id);
	}
	for (const e of all("[aria-labelledby]")) {
		for (const id of e.getAttribute("aria-labelledby").split(" ")) if (!seen.has(id)) wrong.push(`ids: ${name(e)} is labelled by ${id}, which is not there`);
	}

	if (all("svg").filter(visible).length === 0 && !document.querySelector(".none, .alert")) wrong.push("charts: there are none, and nothing says why");
	for (const f of all("figure")) {
		if (all("svg", f).filter(visible).length === 0) wrong.push(`charts: not one of ${name(f)} is to be seen`);
		if (all("tbody tr", f).some(tr => !tr.cells[0].textContent.trim() || !tr.cells[1].matches(".why") && all("td:not(.plot)", tr).some(td => !td.textContent.trim()))) {
			wrong.push(`charts: a row of ${name(f)} does not say its figures in words`);
		}
	}
	for (const svg of all("svg").filter(svg => !svg.matches("table [aria-hidden]"))) {
		for (const part of ["title", "desc"]) if (!svg.querySelector(part)?.textContent.trim()) wrong.push(`charts: no ${part} in one of class ${svg.classList}`);
	}

	// An axis has four labels at least, from its one end to the other.
	const axis = (labels, what) => {
		if (labels.length < 4 || labels.some(e => !e.textContent.trim())) wrong.push(`axes: ${labels.length} labels of ${what}, not 4 at least`);
	};
	for (const svg of all("svg.axis")) axis(all("text", svg), name(svg.closest("table").caption));
	for (const svg of all(".panel svg")) for (const anchor of ["end", "middle"]) axis(all(`text[text-anchor=${anchor}]`, svg), name(svg));

	// Rows are ranked: whole tables, those of fewer rows, and those without figures.
	for (const f of all(".plots2")) {
		const rank = tr => tr.cells[1].matches(".why") ? 2 : tr.cells[0].querySelector("small") ? 1 : 0;
		const rate = tr => parseFloat(tr.cells[1].querySelector("rect")?.getAttribute("width") ?? 0);
		all("tbody tr", f).reduce((before, tr) => {
			if (before && (rank(before) > rank(tr) || rank(before) === rank(tr) && rate(before) < rate(tr))) wrong.push(`ranks: ${name(tr)} stands below ${name(before)}`);
			return tr;
		}, null);
	}

	for (const e of all(".scroll")) {
		if (e.scrollWidth > e.clientWidth && innerWidth < 780 && !(e.previousElementSibling?.matches(".hint") && visible(e.previousElementSibling))) {
			wrong.push(`tables: nothing says that ${name(e)} is wider than the window`);
		}
	}
	for (const a of all("a[href^='#']")) if (!seen.has(a.hash.slice(1))) wrong.push(`links: ${name(a)} leads nowhere`);

	for (const t of all("table")) {
		if (!t.caption?.textContent.trim()) wrong.push(`tables: no caption of ${name(t)}`);
		for (const th of all("th", t)) if (!th.scope) wrong.push(`tables: no scope of ${name(th)}`);
	}

	// The contrast of text to what it stands on, as WCAG 2 defines it.
	const rgb = c => c.match(/[\d.]+/g).map(Number);
	const luminance = c => rgb(c).slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = e => {
		for (; e; e = e.parentElement) {
			const c = getComputedStyle(e).backgroundColor;
			if ((rgb(c)[3] ?? 1) > 0) return c;
		}
		return "rgb(255,255,255)";
	};
	const contrast = (a, b) => {
		const [hi, lo] = [luminance(a), luminance(b)].sort((x, y) => y - x);
		return (hi + 0.05) / (lo + 0.05);
	};
	let texts = 0;
	for (const e of all("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !visible(e) || ["title", "desc", "style"].includes(e.tagName)) continue;
		texts++;
		const style = getComputedStyle(e), svg = e.ownerSVGElement;
		const size = parseFloat(style.fontSize) * (svg?.viewBox.baseVal?.width ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1);
		if (size < 13.99) wrong.push(`text: ${name(e)} is ${size.toFixed(1)} px`);
		const ratio = contrast(svg ? style.fill : style.color, behind(svg ?? e));
		if (ratio < 4.5) wrong.push(`contrast: ${name(e)} has ${ratio.toFixed(2)}`);
	}
	if (texts < 5) wrong.push(`text: there are only ${texts} pieces`);

	for (const figure of all("figure").filter(visible)) {
		const frame = figure.getBoundingClientRect(), boxes = [];
		for (const e of all("*", figure)) {
			for (const n of e.childNodes) {
				if (n.nodeType !== 3 || !n.data.trim() || !visible(e) || e.clientWidth === 1 || ["title", "desc"].includes(e.tagName)) continue;
				const range = document.createRange();
				range.selectNodeContents(n);
				for (const box of range.getClientRects()) boxes.push([e, box]);
			}
		}
		boxes.forEach(([e, a], i) => {
			if (a.left < frame.left - 8 || a.right > frame.right + 8 || a.right > innerWidth || a.left < 0) wrong.push(`labels: ${name(e)} sticks out of ${name(figure)}`);
			for (const [other, b] of boxes.slice(i + 1)) {
				const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
				if (other !== e && x > 0 && y > 4) wrong.push(`labels: ${name(e)} and ${name(other)} lie on each other`);
			}
		});
	}
	return wrong;
})()
