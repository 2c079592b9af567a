import { describeLeftStrays, readLeftStrays, whyRawsMiss } from '../../blob/disk.ts'
import { type Finding, finding } from '../../mail/domain/finding.ts'

/** Whether the large messages of this machine are where they were kept. */
export async function checkRaws(dataDir: string): Promise<Finding[]> {
  const why = await whyRawsMiss(dataDir)
  return why === undefined ? [] : [finding('error', 'raws_missing', dataDir, why, `mount ${dataDir}/raw`)]
}

/** Whether the last search for files and objects without a row found so many of them that the database may be the wrong one. */
export async function checkStrays(dataDir: string): Promise<Finding[]> {
  const left = await readLeftStrays(dataDir)
  return (['files', 'objects'] as const).flatMap(where => {
    const found = left[where]
    if (!found) return []
    const message = `${describeLeftStrays(where, found)} (found at ${found.at})`
    return [finding('error', 'strays_left', dataDir, message, 'mailboxctl verify')]
  })
}
