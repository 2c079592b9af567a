import t from 'tap'
import { movingName, readMovingName } from '../../../lib/store/migrations/migration.ts'

t.test('a step that says whose rows are on their way, and where to, is read as it was written', async t => {
  const rowsOf = movingName('01890000-0000-7000-8000-000000000001')
  t.strictSame(readMovingName(rowsOf), { rowsOf, place: undefined })
  for (const place of ['sqlite', 'postgres://db.example/mailboxd?host=a', ''])
    t.strictSame(readMovingName(movingName('01890000-0000-7000-8000-000000000001', place)), { rowsOf, place })
})
