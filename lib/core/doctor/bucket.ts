import { type Finding, finding } from '../../mail/domain/finding.ts'
import type { App } from '../app/app.ts'

/** Whether objects can be put into the bucket of large messages, read and deleted there, as the daemon does with the same key. */
export async function checkBucket({ blobs, config }: Pick<App, 'blobs' | 'config'>): Promise<Finding[]> {
  if (config.blobs === undefined) return []
  try {
    await blobs.tryOut()
    return []
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    const message = `an object could not be put there, read and deleted: large mail is put off (${said})`
    return [finding('error', 'bucket_failed', config.blobs, message)]
  }
}
