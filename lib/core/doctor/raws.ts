import { whyRawsMiss } from '../../blob/disk.ts'
import { type Finding, finding } from '../../mail/domain/finding.ts'

/** Whether the large messages of this machine are where they were kept. */
export async function checkRaws(dataDir: string): Promise<Finding[]> {
  const why = await whyRawsMiss(dataDir)
  return why === undefined ? [] : [finding('error', 'raws_missing', dataDir, why, `mount ${dataDir}/raw`)]
}
