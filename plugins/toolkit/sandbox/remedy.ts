/** What to do where this machine lacks a part of the sandbox. */
export function remedyOf (missing: string): string {
  if (missing.startsWith('namespaces') || missing.includes('/proc')) {
    return 'allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or run the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined'
  }
  if (missing.startsWith('Landlock')) {
    return 'use Linux 5.13 or later with Landlock enabled (lsm=landlock,… on the kernel\'s command line)'
  }
  return 'see docs/isolation.md'
}
