package ledger

import "syscall"

// networkFileSystems are those whose locks cannot be relied on, by the number
// that statfs gives.
var networkFileSystems = map[uint32]string{
	0x6969:     "NFS",
	0x517B:     "SMB",
	0xFE534D42: "SMB",
	0xFF534D42: "CIFS",
	0x5346414F: "AFS",
	0x6B414653: "AFS",
	0x73757245: "Coda",
	0x00C36400: "Ceph",
	0x0BD00BD0: "Lustre",
}

func networkFileSystem(dir string) string {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return ""
	}
	return networkFileSystems[uint32(st.Type)]
}
