declare module '@20minutes/s3rver' {
  import type { Server } from 'node:http'

  /** As far as it is used here. */
  class S3rver {
    constructor(options: {
      readonly address: string
      readonly port: number
      readonly directory: string
      readonly silent: boolean
      readonly configureBuckets: readonly { readonly name: string }[]
    })
    run(): Promise<unknown>
    close(): Promise<void>
    readonly httpServer: Server
    readonly logger: { silent: boolean }
  }

  export = S3rver
}
