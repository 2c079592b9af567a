import { keepCompiledCode } from './compile-cache.ts'

keepCompiledCode()
const { runMailboxctl } = await import('../lib/cli/program.ts')
const { programVersion } = await import('../lib/base/package-root.ts')
process.exitCode = await runMailboxctl(process.argv.slice(2), programVersion(), process.env, async shell => {
  const { completions } = await import('../lib/cli/completions.ts')
  return completions[shell]
})
