import { escapeHtml } from '../base/text.ts'
import type { App } from '../core/app/app.ts'
import { systemAddress } from '../core/domains/usable.ts'
import {
  confirmForwarding,
  type DeadLink,
  type ForwardQuestion,
  findForwardQuestion,
} from '../core/forwarding/question.ts'
import type { Page, PageAnswer, PageRequest } from './page.ts'
import { plainPage } from './plain-page.ts'

/** What is wrong with a link, and what can be done. */
const dead: Readonly<Record<DeadLink, { status: number; title: string; text: string }>> = {
  unknown: {
    status: 404,
    title: 'This link is not whole',
    text: 'Open it once more from the mail, or copy all of it: mail programs break long links in two.',
  },
  expired: {
    status: 410,
    title: 'This link is too old',
    text: 'It was good for seven days. Whoever runs the mailbox can ask you again by setting the forwarding anew.',
  },
  used: {
    status: 410,
    title: 'This link was used already',
    text: 'It is good once. If no copies come, whoever runs the mailbox can ask you again.',
  },
  superseded: {
    status: 410,
    title: 'This link is not good any more',
    text: 'The forwarding was changed after the mail was sent. If there is a newer mail, use the link in that one.',
  },
}

/**
 * The page that the mail about forwarding leads to. Looking at it changes nothing, because mail scanners do; its button
 * consents, by a request to the same address.
 */
export const forwardingPages: readonly Page[] = [
  { method: 'get', path: '/forwarding/confirm', tooMany, handle: answer(findForwardQuestion, ask) },
  { method: 'post', path: '/forwarding/confirm', tooMany, handle: answer(confirmForwarding, thank) },
]

type Words = Omit<Parameters<typeof plainPage>[0], 'footer'>

function answer(
  read: (app: App, token: string) => Promise<ForwardQuestion | DeadLink>,
  say: (question: ForwardQuestion) => Words,
) {
  return async ({ app, query }: PageRequest): Promise<PageAnswer> => {
    const found = await read(app, query.get('token') ?? '')
    return pageOf(app, typeof found === 'string' ? sayDead(found) : say(found))
  }
}

function pageOf(app: App, words: Words): PageAnswer {
  const hostname = escapeHtml(app.config.hostname)
  const postmaster = escapeHtml(systemAddress(app))
  const footer = `<p>This page belongs to the mail server ${hostname}. Its postmaster is <a href="mailto:${postmaster}">${postmaster}</a>.</p>`
  return plainPage({ ...words, footer })
}

function sayDead(link: DeadLink): Words {
  const { text, ...words } = dead[link]
  return { ...words, body: `<p>${escapeHtml(text)}</p>` }
}

function ask(question: ForwardQuestion): Words {
  const { from, to } = marked(question)
  return {
    status: 200,
    title: 'Do you want copies of this mail?',
    body: `<p>The mailbox ${from} asks to forward copies of its mail to ${to}.</p>
<p>If that is your address and you want them, press the button. If not, close this page, and nothing is forwarded.</p>
<form method="post"><button type="submit">Yes, forward copies to me</button></form>`,
  }
}

function thank(question: ForwardQuestion): Words {
  const { from, to } = marked(question)
  return {
    status: 200,
    title: 'Copies are forwarded from now on',
    body: `<p>Mail to ${from} is copied to ${to}.</p>
<p>To end it, tell whoever runs that mailbox, or the postmaster below. A complaint about a copy ends it, too.</p>`,
  }
}

function marked({ from, to }: ForwardQuestion) {
  return { from: `<strong>${escapeHtml(from)}</strong>`, to: `<strong>${escapeHtml(to)}</strong>` }
}

function tooMany(app: App): PageAnswer {
  const text = 'Wait a minute, then open the link in the mail again.'
  return pageOf(app, { status: 429, title: 'Too many requests', body: `<p>${text}</p>` })
}
