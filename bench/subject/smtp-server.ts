import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { kill } from '../../test/support/contained.ts'
import { freePort, greeting } from '../../test/support/ports.ts'
import type { Subject } from './subject.ts'

/** The library under our SMTP door alone: takes every message and forgets it. What it costs is the floor of ours. */
export async function startSmtpServerSubject(): Promise<Subject> {
  const address = '127.0.0.1'
  const port = await freePort(address)
  const sink = fileURLToPath(new URL('smtp-server-sink.mjs', import.meta.url))
  const child = spawn(process.execPath, [sink, address, String(port)], { stdio: 'inherit' })
  await greeting(address, port)
  return { address, port, recipient: 'bench@sink.test', pid: child.pid ?? 0, stop: () => kill(child) }
}
