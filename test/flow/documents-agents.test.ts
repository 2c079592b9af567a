import { globSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runInBootedSystem } from '../support/booted-system.ts'
import { buildOnce } from '../support/built.ts'
import { blocksOf, type Exception, scriptOf, unkept } from '../support/documents.ts'
import { without } from '../support/peers.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const root = join(import.meta.dirname, '..', '..')
const mail = (text: string, to = 'hello') =>
  `printf 'From: ann@example.net\\nTo: ${to}@mailboxd.localhost\\nSubject: A question\\n\\n${text}\\n' | curl -sS --crlf smtp://127.0.0.1:2525/example.net --mail-from ann@example.net --mail-rcpt ${to}@mailboxd.localhost -T -`
const seen = (pattern: string) => `until grep -q '${pattern}' "$said"; do kill -0 $program; sleep 0.2; done`

/** A program that does not end: it is run, something happens, and it says so. */
const running = (begins: string, file: string, how: string, ready: string, then: string, told: string) => ({
  begins,
  reason: 'it runs until somebody ends it',
  instead: `cp "$block" ${file}
${how} ${file} & program=$!
${seen(ready)}
${then}
${seen(told)}
kill $program`,
})

const exceptions: readonly Exception[] = [
  {
    begins: 'npm ci && npm start',
    reason: 'CI itself begins with npm ci; what it prints is pasted, as it says',
    instead: `cd /given/checkout
rm -rf mailboxd-data
npm start > /root/local.log 2>&1 &
until grep -q 'export API' /root/local.log; do kill -0 $! || cat /root/local.log; sleep 0.2; done
cat /root/local.log
eval "$(grep -o 'export API.*' /root/local.log)"
mkdir -p /root/work
cd /root/work
PATH=/given/checkout/bin:$PATH`,
  },
  { begins: 'npm cit', reason: 'it is what CI runs: these tests', instead: ':' },
  running(
    '// agent.ts',
    'agent.ts',
    'node',
    'waiting for mail',
    mail('Are you there?', 'support'),
    'answered ann@example.net',
  ),
  running(
    '# agent.py',
    'agent.py',
    'python3',
    'waiting for mail',
    mail('And you?', 'support'),
    'answered ann@example.net',
  ),
  {
    begins: 'export SECRET=',
    reason: 'its receiver prints a moment after it has answered',
    instead: `. "$block"
program=$!
${seen('^webhook.test ')}
kill $program`,
  },
  running(
    'curl -sSN "$API/events/stream',
    'follow.sh',
    'bash',
    '.\\?',
    `${mail('Are you there?')}
until grep -q '^data:' "$said"; do ${mail('Still?')}; sleep 0.5; done`,
    '^data: {"event":"message.received"',
  ),
  running(
    '// stream.mjs',
    'stream.mjs',
    'node',
    'subscribed',
    mail('Here?'),
    'message.received hello@mailboxd.localhost Here?',
  ),
]

t.test(
  'the README and the guides for agents do what they say, as they stand',
  { skip: without('systemd', 'unshare', 'ip', 'jq', 'swaks', 'python3') },
  async t => {
    buildOnce()
    const isLocal = ({ section }: { section: string }) => section !== 'Run it as a server'
    const guides = globSync('docs/agents/*.md', { cwd: root }).sort()
    t.ok(guides.length > 4)
    const blocks = [
      ...blocksOf('README.md').filter(isLocal),
      ...['messages', 'events', 'smtp', 'forwarding', 'errors-and-limits'].flatMap(name =>
        blocksOf(`docs/agents/${name}.md`),
      ),
    ]
    const told = new Set(blocks.map(({ where }) => where.split(':')[0]))
    for (const guide of guides) t.ok(told.has(guide), `${guide} is among them`)
    const { code, stdout, stderr } = await runInBootedSystem(temporaryDir(t), scriptOf(blocks, exceptions), {
      checkout: root,
    })
    t.equal(code, 0, `${stdout}\n${stderr}`)
    t.same(unkept(blocks, stdout), [])
  },
)
