import { type Finding, finding, notChecked } from '../../mail/domain/finding.ts'
import { findFaults } from '../../store/integrity.ts'
import { checkMs } from '../domains/diagnosis.ts'

/** Whether the file of the database is whole. @param isDeep everything in it is read, however long that takes */
export async function checkDatabase(path: string, isDeep: boolean): Promise<Finding[]> {
  const found = await findFaults(path, isDeep ? undefined : checkMs)
  if (found === undefined) {
    const message = `it was not read to its end within ${checkMs / 1000} seconds, in which nothing wrong was told: take the time for all of it`
    return [notChecked(path, message, 'hint')].map(one => ({ ...one, paste: 'mailboxctl doctor --deep' }))
  }
  if ('unknown' in found)
    return [finding('warning', 'database_not_checked', path, `not checked: ${found.unknown}`)]
  const { faults } = found
  if (faults.length === 0) return []
  const message = `the database is damaged (${faults.slice(0, 3).join('; ')}): stop mailboxd, keep a copy of the file, and restore the last backup`
  return [finding('error', 'database_damaged', path, message, 'mailboxctl restore')]
}
