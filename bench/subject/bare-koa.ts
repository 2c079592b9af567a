import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { kill } from '../../test/support/contained.ts'

export interface BareKoa {
  readonly port: number
  stop(): Promise<void>
}

/** A bare Koa route for the newest 50 messages of an inbox (any path that ends with /messages) and for the inbox (any other). */
export async function startBareKoa(databasePath: string, inboxId: string): Promise<BareKoa> {
  const program = fileURLToPath(new URL('bare-koa.mjs', import.meta.url))
  const child = spawn(process.execPath, [program, databasePath, inboxId], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  return { port: Number(String(line)), stop: () => kill(child) }
}
