import { open } from 'node:fs/promises'
import { limits } from '../../base/limits.ts'
import type { Config } from '../../config/load.ts'
import { type Route, sourceOf } from '../../courier/smtp/routes.ts'

/** The routes that the settings name, in their order. */
export function routesOf({ delivery: { route } }: Config): Route[] {
  return route.map(({ domains, host, port, tls, user, password_file, source_address, fallback }) => ({
    domains,
    smarthost:
      host === undefined
        ? undefined
        : {
            host,
            port,
            tls,
            login:
              user === undefined ? undefined : { user, password: () => readPassword(password_file ?? '') },
          },
    fallsBack: fallback,
    sourceAddress: sourceOf(source_address),
  }))
}

/** Read each time, so that a new one counts at once: the first line. */
async function readPassword(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(limits.passwordBytes) })
    return buffer.toString('utf8', 0, bytesRead).split(/\r?\n/)[0] ?? ''
  } finally {
    await file.close()
  }
}
