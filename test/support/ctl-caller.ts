/** A process that runs mailboxctl as often as it is told (called-ctl.ts). */

import { packageVersion } from '../../lib/base/package-root.ts'
import { runMailboxctl } from '../../lib/cli/program.ts'

const said = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
for (const place of ['stdout', 'stderr'] as const) {
  const stream = process[place]
  // Each call listens for its errors.
  stream.setMaxListeners(0)
  stream.write = (chunk: Uint8Array | string, ...more: unknown[]) => {
    said[place].push(Buffer.from(chunk as string))
    const written = more.at(-1)
    if (typeof written === 'function') process.nextTick(written)
    return true
  }
}

process.on('message', async ({ dir, args }: { dir: string; args: string[] }) => {
  process.chdir(dir)
  const code = await runMailboxctl(args, packageVersion(), process.env, async () => '')
  const [stdout, stderr] = [said.stdout, said.stderr].map(bytes => Buffer.concat(bytes.splice(0)).toString())
  process.send?.({ code, stdout, stderr })
})
