import type { Test } from 'tap'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { createHttpDoor } from '../../lib/http/server.ts'
import { apiOf } from './api.ts'
import { greetedDialog } from './smtp-dialog.ts'
import { openDoor } from './smtp-door.ts'

/** Both doors over one database: mail comes in by SMTP and is found by the API. */
export async function openBothDoors(t: Test, settings: Parameters<typeof openDoor>[1] = {}) {
  const mail = await openDoor(t, settings)
  const http = createHttpDoor(mail.app)
  const { port } = await http.listen('127.0.0.1', 0)
  t.teardown(() => http.stop())
  const baseUrl = `http://127.0.0.1:${port}`
  const { token } = await createKey(mail.app, operator, { account: true }, null)
  const dialog = await greetedDialog(mail.port)
  t.teardown(() => dialog.end())
  const receive = async (name: string, message: string) => {
    await dialog.envelope('bob@example.net', `${name}@ours.example`)
    const { code, text } = await dialog.data(message.replaceAll('\n', '\r\n'))
    if (code !== 250) throw new Error(text)
  }
  return { ...mail, http, baseUrl, httpPort: port, token, api: apiOf(baseUrl, token), receive }
}

export const letter = (subject: string, body = 'Hello', from = 'Bob Ross <bob@example.net>') =>
  `From: ${from}\nTo: ann@ours.example\nSubject: ${subject}\n\n${body}\n`
