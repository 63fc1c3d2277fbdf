#!/bin/sh
# folder.sh prints the folder that the tests' databases should be made in: /dev/shm, where the file system is in memory, has 8 GiB free and
# lets programs run, else the temporary folder. What the servers commit survives their being killed in both, which is all that tests ask for;
# in memory the suite takes a third of the time.
shm=/dev/shm
free=$(df -Pk "$shm" 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${free:-0}" -ge 8388608 ] && probe=$(mktemp "$shm/snowkey-XXXXXX" 2>/dev/null); then
	printf '#!/bin/sh\n' >"$probe"
	chmod +x "$probe"
	if "$probe" 2>/dev/null; then
		rm -f "$probe"
		echo "$shm"
		exit
	fi
	rm -f "$probe"
fi
echo "${TMPDIR:-/tmp}"
