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
	for (const f of all("figure")) if (all("svg", f).filter(visible).length !== 1) wrong.push(`charts: not one of ${name(f)} is to be seen`);
	for (const svg of all("svg")) {
		for (const part of ["title", "desc"]) if (!svg.querySelector(part)?.textContent.trim()) wrong.push(`charts: no ${part} in one of class ${svg.classList}`);
	}

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
		const size = parseFloat(style.fontSize) * (svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1);
		if (size < 13.99) wrong.push(`text: ${name(e)} is ${size.toFixed(1)} px`);
		const ratio = contrast(svg ? style.fill : style.color, behind(svg ?? e));
		if (ratio < 4.5) wrong.push(`contrast: ${name(e)} has ${ratio.toFixed(2)}`);
	}
	if (texts < 5) wrong.push(`text: there are only ${texts} pieces`);

	for (const svg of all("svg").filter(visible)) {
		const frame = svg.getBoundingClientRect();
		const boxes = all("text", svg).map(e => [e, e.getBoundingClientRect()]);
		boxes.forEach(([e, a], i) => {
			if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 3 || a.bottom > frame.bottom + 3) wrong.push(`labels: ${name(e)} sticks out of ${svg.classList}`);
			for (const [other, b] of boxes.slice(i + 1)) {
				const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
				if (x > 1 && y > 4) wrong.push(`labels: ${name(e)} and ${name(other)} lie on each other`);
			}
		});
	}
	return wrong;
})()
