import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../lib/base/package-root.ts'
import { startApi } from '../support/api-app.ts'
import { without } from '../support/peers.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const run = promisify(execFile)
const modules = join(packageRoot(), '.ci/clients/node_modules')
const skip = existsSync(join(modules, 'quicktype'))
  ? false
  : 'npm ci --prefix .ci/clients installs the generators'

/** What our user writes with the client that @hey-api/openapi-ts makes; the types are part of what is tried. */
const story = `
import { client } from './client/client.gen'
import { createInbox, getInbox, listInboxMessages, sendMessage } from './client'
import type { ErrorBody, ErrorCode, Inbox, Message, MessageReceivedEvent, SendResult } from './client'

client.setConfig({ baseUrl: process.env.API!, auth: () => process.env.KEY! })

export async function main(): Promise<void> {
  const made = await createInbox({ body: { mailboxName: 'generated', displayName: 'Made by a client' } })
  const inbox: Inbox = made.data!
  const sent = await sendMessage({
    path: { id: inbox.address },
    headers: { 'Idempotency-Key': 'first' },
    body: { to: 'ann@example.net', subject: 'Hello', body: 'Are you there?' },
  })
  const result: SendResult = sent.data!
  const list = await listInboxMessages({ path: { id: inbox.id }, query: { direction: 'outbound' } })
  const messages: Message[] = list.data!.data
  const missing = await getInbox({ path: { id: 'nobody' } })
  const refusal: ErrorBody = missing.error!
  const code: ErrorCode = refusal.error
  const subjectOf = (event: MessageReceivedEvent) => event.message?.subject
  console.log(JSON.stringify({ address: inbox.address, status: result.status, code, isFunction: typeof subjectOf,
    subjects: messages.map(one => one.subject), isSame: messages[0]?.id === result.messageId }))
}
void main()
`

/** What our user writes with the types of openapi-typescript: what may be left out is left out. */
const plainTypes = `
import type { components } from './types'

type Of<Name extends keyof components['schemas']> = components['schemas'][Name]
export const sent: Of<'SendRequest'> = { to: 'ann@example.net', subject: 'Hello', body: 'Are you there?' }
export const answered: Of<'ReplyRequest'> = { body: 'Yes.' }
export const passedOn: Of<'ForwardRequest'> = { to: ['ann@example.net'] }
export const kept: Of<'DraftCreation'> = { subject: 'Hello', attachments: [{ filename: 'a.txt', content: 'aGk=' }] }
export const changed: Of<'DraftChange'> = { body: null }
`

t.test('a client that is generated speaks of our nouns and works', { skip }, async t => {
  const { baseUrl, token, faults } = await startApi(t)
  const dir = temporaryDir(t)
  await symlink(modules, join(dir, 'node_modules'))
  const document = join(dir, 'openapi.json')
  await writeFile(document, await (await fetch(`${baseUrl}/v1/openapi.json`)).text())
  const node = (script: string, ...args: string[]) =>
    run(process.execPath, [join(modules, script), ...args], { cwd: dir, maxBuffer: 16 * 1024 * 1024 })

  await node('@hey-api/openapi-ts/bin/run.js', '-i', document, '-o', join(dir, 'client'), '--no-log-file')
  await node('openapi-typescript/bin/cli.js', document, '-o', join(dir, 'types.ts'))
  await writeFile(join(dir, 'story.ts'), story)
  await writeFile(join(dir, 'plain.ts'), plainTypes)
  await writeFile(
    join(dir, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noUncheckedIndexedAccess: true,
        target: 'es2022',
        lib: ['es2023', 'dom', 'dom.iterable'],
        module: 'commonjs',
        moduleResolution: 'bundler',
        types: ['node'],
        typeRoots: [join(packageRoot(), 'node_modules/@types')],
        skipLibCheck: true,
        outDir: 'out',
      },
      files: ['story.ts', 'plain.ts'],
    }),
  )
  // Both in one look: most of it is the library's types.
  await run(process.execPath, [join(packageRoot(), 'node_modules/typescript/bin/tsc'), '-p', dir])
  const { stdout } = await run(process.execPath, [join(dir, 'out/story.js')], {
    env: { ...process.env, API: baseUrl, KEY: token },
  })
  t.strictSame(JSON.parse(stdout), {
    address: 'generated@ours.example',
    status: 'pending',
    code: 'not_found',
    isFunction: 'function',
    subjects: ['Hello'],
    isSame: true,
  })

  const types = await readFile(join(dir, 'types.ts'), 'utf8')
  for (const noun of [
    'Inbox',
    'Message',
    'MessageThread',
    'Draft',
    'Domain',
    'Pod',
    'ErrorBody',
    'MessageReceivedEvent',
  ]) {
    t.match(types, `\n        ${noun}: {`, noun)
  }
  t.strictSame(faults, [])
})

/** What our user writes with the classes of Python: everything that is read is of a class of ours. */
const pythonStory = `
import json, os, urllib.request
from mailboxd import ErrorBody, ErrorCode, Inbox, MessagePage, MessageThread, MessageThreadPage, WsSubscribed

def ask(path):
    request = urllib.request.Request(os.environ["API"] + path, headers={"Authorization": "Bearer " + os.environ["KEY"]})
    try:
        return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        return json.load(error)

inbox = Inbox.from_dict(ask("/v1/inboxes/python@ours.example"))
page = MessagePage.from_dict(ask(f"/v1/inboxes/{inbox.id}/messages"))
threads = MessageThreadPage.from_dict(ask(f"/v1/inboxes/{inbox.id}/threads"))
refusal = ErrorBody.from_dict(ask("/v1/inboxes/nobody"))
said = WsSubscribed.from_dict({"type": "subscribed", "inbox_ids": [str(inbox.id)], "event_types": []})
print(json.dumps([inbox.address, page.data[0].subject, page.data[0].status.value, isinstance(threads.data[0], MessageThread),
    refusal.error is ErrorCode.NOT_FOUND, len(said.inbox_ids)]))
`

t.test(
  'classes of Python that are made of the schemas read what the server answers',
  {
    skip: skip || without('python3'),
  },
  async t => {
    const { api, baseUrl, token } = await startApi(t)
    const inbox = (await api.post('/v1/inboxes', { mailboxName: 'python' })).body
    await api.send(inbox.id, { to: 'ann@example.net', subject: 'Hello', body: 'Are you there?' })
    const dir = temporaryDir(t)
    // No generator of clients in Python is to be had from npm; this one takes JSON Schema, which 3.1's schemas are.
    const { components } = (await api.get('/v1/openapi.json')).body
    const definitions = JSON.parse(
      JSON.stringify(components.schemas).replaceAll('#/components/schemas/', '#/definitions/'),
    )
    const properties = Object.fromEntries(
      Object.keys(definitions).map(name => [name, { $ref: `#/definitions/${name}` }]),
    )
    const schema = join(dir, 'schemas.json')
    await writeFile(schema, JSON.stringify({ type: 'object', properties, definitions }))
    const made = join(dir, 'mailboxd.py')
    await run(
      process.execPath,
      [
        join(modules, 'quicktype/dist/index.js'),
        ...['--src-lang', 'schema', '--lang', 'python', '--python-version', '3.7', '--no-date-times'],
        ...['--src', schema, '--out', made],
      ],
      { maxBuffer: 16 * 1024 * 1024 },
    )
    const classes = [...(await readFile(made, 'utf8')).matchAll(/^class (\w+)/gm)].map(([, name]) => name!)
    const nouns = Object.keys(definitions).filter(name => definitions[name].properties)
    t.strictSame(
      nouns.filter(noun => !classes.some(one => one.toLowerCase() === noun.toLowerCase())),
      [],
      'each noun is a class',
    )
    await writeFile(join(dir, 'story.py'), pythonStory)
    const { stdout } = await run('python3', [join(dir, 'story.py')], {
      env: { ...process.env, API: baseUrl, KEY: token },
    })
    t.strictSame(JSON.parse(stdout), ['python@ours.example', 'Hello', 'pending', true, true, 1])
  },
)
