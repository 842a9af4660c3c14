"""Which system calls a program may make, by name, with the number of each on x86_64 and on aarch64.

What is in none of these lists answers "not implemented", so that a C library that tries something new falls back.
"""

from __future__ import annotations

# What an interpreter without children and without a network has a use for.
_ALLOWED = """
read:0:63 write:1:64 open:2:- close:3:57 stat:4:- fstat:5:80 lstat:6:- poll:7:- lseek:8:62 mmap:9:222
mprotect:10:226 munmap:11:215 brk:12:214 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139
pread64:17:67 pwrite64:18:68 readv:19:65 writev:20:66 access:21:- pipe:22:- select:23:- sched_yield:24:124
mremap:25:216 msync:26:227 mincore:27:232 madvise:28:233 dup:32:23 dup2:33:- pause:34:- nanosleep:35:101
getitimer:36:102 alarm:37:- setitimer:38:103 getpid:39:172 sendfile:40:71 sendto:44:206 recvfrom:45:207
shutdown:48:210 getsockname:51:204 getpeername:52:205 getsockopt:55:209 exit:60:93
wait4:61:260 waitid:247:95 kill:62:129 uname:63:160 fsync:74:82 fdatasync:75:83
truncate:76:45 ftruncate:77:46 getdents:78:- getdents64:217:61 getcwd:79:17 chdir:80:49 fchdir:81:50 rename:82:-
renameat:264:38 renameat2:316:276 mkdir:83:- mkdirat:258:34 rmdir:84:- creat:85:- link:86:- linkat:265:37
unlink:87:- unlinkat:263:35 symlink:88:- symlinkat:266:36 readlink:89:- readlinkat:267:78 chmod:90:-
fchmod:91:52 fchmodat:268:53 chown:92:- fchown:93:55 lchown:94:- fchownat:260:54 umask:95:166
gettimeofday:96:169 getrlimit:97:163 setrlimit:160:164 prlimit64:302:261 getrusage:98:165 sysinfo:99:179
times:100:153 getuid:102:174 getgid:104:176 geteuid:107:175 getegid:108:177 getresuid:118:148 getresgid:120:150
getgroups:115:158 setpgid:109:154 getpgid:121:155 getppid:110:173 getpgrp:111:- setsid:112:157 getsid:124:156
rt_sigpending:127:136 rt_sigtimedwait:128:137 rt_sigsuspend:130:133 sigaltstack:131:132 utime:132:- utimes:235:-
futimesat:261:- utimensat:280:88 statfs:137:43 fstatfs:138:44 statx:332:291 newfstatat:262:79
getpriority:140:141 sched_getparam:143:121 sched_getscheduler:145:120 sched_get_priority_max:146:125
sched_get_priority_min:147:126 sched_rr_get_interval:148:127 sched_getaffinity:204:123 sched_setaffinity:203:122
sched_getattr:315:275 arch_prctl:158:- gettid:186:178 tkill:200:130 tgkill:234:131 time:201:- futex:202:98
futex_waitv:449:449 set_tid_address:218:96 set_robust_list:273:99 get_robust_list:274:100
restart_syscall:219:128 rseq:334:293 membarrier:324:283 fadvise64:221:223 fallocate:285:47
copy_file_range:326:285 timer_create:222:107 timer_settime:223:110 timer_gettime:224:108
timer_getoverrun:225:109 timer_delete:226:111 clock_gettime:228:113 clock_getres:229:114 clock_nanosleep:230:115
exit_group:231:94 epoll_create:213:- epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232:- epoll_pwait:281:22
epoll_pwait2:441:441 eventfd:284:- eventfd2:290:19 timerfd_create:283:85 timerfd_settime:286:86
timerfd_gettime:287:87 pselect6:270:72 ppoll:271:73 openat:257:56 openat2:437:437 faccessat:269:48
faccessat2:439:439 dup3:292:24 pipe2:293:59 close_range:436:436 preadv:295:69 preadv2:327:286 pwritev:296:70
pwritev2:328:287 getcpu:309:168 getrandom:318:278 getxattr:191:8 lgetxattr:192:9 fgetxattr:193:10
listxattr:194:11 llistxattr:195:12 flistxattr:196:13
"""
# What no program asks for that does as it is told: other processes, other namespaces, the kernel itself.
_KILLED = """
fork:57:- vfork:58:- execve:59:221 execveat:322:281 ptrace:101:117 process_vm_readv:310:270
process_vm_writev:311:271 process_madvise:440:440 pidfd_getfd:438:438 pidfd_send_signal:424:424 kcmp:312:272
mount:165:40 umount2:166:39 pivot_root:155:41 chroot:161:51 unshare:272:97 setns:308:268 open_tree:428:428
move_mount:429:429 fsopen:430:430 fsconfig:431:431 fsmount:432:432 fspick:433:433 mount_setattr:442:442
keyctl:250:219 add_key:248:217 request_key:249:218 bpf:321:280 perf_event_open:298:241 userfaultfd:323:282
io_uring_setup:425:425 io_uring_enter:426:426 io_uring_register:427:427 kexec_load:246:104
kexec_file_load:320:294 init_module:175:105 finit_module:313:273 delete_module:176:106 reboot:169:142
swapon:167:224 swapoff:168:225 sethostname:170:161 setdomainname:171:162 settimeofday:164:170
clock_settime:227:112 adjtimex:159:171 clock_adjtime:305:266 acct:163:89 syslog:103:116 iopl:172:- ioperm:173:-
modify_ldt:154:- quotactl:179:60 open_by_handle_at:304:265 fanotify_init:300:262 personality:135:92
"""
# What depends on an argument.
_CHECKED = """
clone:56:220 fcntl:72:25 ioctl:16:29 prctl:157:167 socket:41:198 socketpair:53:199
"""

MACHINES = ("x86_64", "aarch64")


def allowed(machine: str) -> dict[str, int]:
    """The calls that go through."""
    return _numbers(_ALLOWED, machine)


def killed(machine: str) -> dict[str, int]:
    """The calls that end the program."""
    return _numbers(_KILLED, machine)


def checked(machine: str) -> dict[str, int]:
    """The calls whose arguments decide."""
    return _numbers(_CHECKED, machine)


def _numbers(table: str, machine: str) -> dict[str, int]:
    column = 1 + MACHINES.index(machine)
    rows = [row.split(":") for row in table.split()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
