import t from 'tap'
import { withoutPassword } from '../../lib/base/files.ts'

t.test('the URL of a database is shown without its password', async t => {
  const shown = [
    ['postgres://m@db.example.com/m', 'postgres://m@db.example.com/m'],
    ['postgres://m:se:c@ret@db.example.com/m', 'postgres://m@db.example.com/m'],
    [
      'postgres://m:secret@a:5432,[::1]:5432/m?sslmode=verify-full',
      'postgres://m@a:5432,[::1]:5432/m?sslmode=verify-full',
    ],
    ['postgres://m@a:5432,b:5432/m?password=secret', 'postgres://m@a:5432,b:5432/m'],
    ['postgres://m@db/m?a=b&password=secret&c=d', 'postgres://m@db/m?a=b&c=d'],
  ]
  for (const [given, bare] of shown) t.equal(withoutPassword(given!), bare)
})

t.end()
