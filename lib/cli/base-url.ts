import { defaultBaseUrl, parseEndpoint } from '../config/endpoint.ts'
import type { Config } from '../config/load.ts'

/** Where clients reach the API, as far as the configuration says. */
export const baseUrlOf = (config: Config) => () =>
  config.base_url ?? defaultBaseUrl(parseEndpoint(config.http.listen[0]!), config.hostname)
