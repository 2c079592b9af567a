import { normaliseAddress } from '../address/address.ts'
import type { FeedbackReport } from './feedback.ts'
import { reportPartBytes, reportRecipients } from './part.ts'
import type { ReturnedRecipient } from './recipient.ts'
import { enhancedOf, findReply, wordsOf } from './said-reply.ts'

/** What Amazon SES tells, in JSON, by mail from SNS or passed on by somebody; the envelope of SNS may stand around it. */
interface Notification {
  readonly notificationType?: unknown
  readonly eventType?: unknown
  readonly bounce?: { readonly bounceType?: unknown; readonly bouncedRecipients?: unknown } | null
  readonly complaint?: {
    readonly complaintFeedbackType?: unknown
    readonly complainedRecipients?: unknown
  } | null
  readonly mail?: { readonly source?: unknown } | null
}

/** Recipients of a bounce of Amazon SES; empty for what is none. */
export function readSnsBounce(text: string): ReturnedRecipient[] {
  const found = notificationIn(text)
  if (kindOf(found) !== 'bounce') return []
  const { bounceType, bouncedRecipients } = found?.bounce ?? {}
  return itemsOf(bouncedRecipients).map(one => {
    const said = textOf(one.diagnosticCode)
      .replace(/^\s*[A-Za-z][\w-]{0,30}\s*;/, '')
      .trim()
    const reply = findReply(said)
    const status = /^[245]\.\d{1,3}\.\d{1,3}$/.exec(textOf(one.status))?.[0]
    const isDelayed = textOf(one.action).toLowerCase() === 'delayed'
    return {
      finalRecipient: normaliseAddress(textOf(one.emailAddress)),
      originalRecipient: undefined,
      action: isDelayed ? 'delayed' : 'failed',
      code: reply?.code,
      enhanced: enhancedOf(reply?.enhanced, status),
      text: wordsOf(said === '' ? `bounced: ${textOf(bounceType)}` : said),
      host: undefined,
    } as const
  })
}

/** A complaint as Amazon SES tells it; undefined for what is none. */
export function readSnsComplaint(text: string): FeedbackReport | undefined {
  const found = notificationIn(text)
  if (kindOf(found) !== 'complaint') return undefined
  const { complaintFeedbackType, complainedRecipients } = found?.complaint ?? {}
  return {
    // RFC 5965 §7.3; without a type somebody still said that it was not wanted.
    type: textOf(complaintFeedbackType).toLowerCase() || 'abuse',
    originalMailFroms: [textOf(found?.mail?.source)].filter(source => source !== ''),
    originalRcptTos: itemsOf(complainedRecipients).map(one => textOf(one.emailAddress)),
    authFailure: undefined,
  }
}

function kindOf(found: Notification | undefined): string {
  return textOf(found?.notificationType ?? found?.eventType).toLowerCase()
}

/** The object in the text, or in the `Message` of the one in the text. */
function notificationIn(text: string): Notification | undefined {
  const head = text.slice(0, reportPartBytes)
  if (!/"(?:notificationType|eventType|TopicArn)\\?"/.test(head)) return undefined
  const outer = parse(head.slice(head.indexOf('{'), head.lastIndexOf('}') + 1))
  const inner = outer !== undefined && typeof outer.Message === 'string' ? parse(outer.Message) : outer
  return inner as Notification | undefined
}

function parse(json: string): Record<string, unknown> | undefined {
  try {
    // Mail has broken the long lines, within strings too.
    const value: unknown = JSON.parse(json.replace(/\r?\n ?/g, ''))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

function itemsOf(list: unknown): Record<string, unknown>[] {
  const items: unknown[] = Array.isArray(list) ? list.slice(0, reportRecipients) : []
  return items.filter(one => typeof one === 'object' && one !== null) as Record<string, unknown>[]
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
