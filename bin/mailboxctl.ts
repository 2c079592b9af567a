import { keepCompiledCode } from './compile-cache.ts'

// Before the rest is loaded.
keepCompiledCode()
const { main } = await import('../lib/cli/main.ts')
process.exitCode = await main(process.argv.slice(2), process.env)
