import { readFirstLine } from '../../base/text.ts'
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
              user === undefined ? undefined : { user, password: () => readFirstLine(password_file ?? '') },
          },
    fallsBack: fallback,
    sourceAddress: sourceOf(source_address),
  }))
}
