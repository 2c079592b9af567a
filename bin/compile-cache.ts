import { mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Keeps the compiled code of the libraries from one start to the next, in a place where nobody else can write: Node's own
 * is below /tmp, where whoever comes first could leave code for root. NODE_COMPILE_CACHE names another (systemd's unit does).
 */
export function keepCompiledCode(): void {
  if (process.env.NODE_COMPILE_CACHE !== undefined) {
    enableCompileCache()
    return
  }
  try {
    const isRoot = process.getuid?.() === 0
    const directory = isRoot
      ? '/var/cache/mailboxctl'
      : join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'mailboxd')
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    enableCompileCache(directory)
  } catch {
    // A user without a home, or a file system that can't be written: the start takes longer.
  }
}
