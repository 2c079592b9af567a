import type { Policy } from '../../model/policy.ts'
import { tableOf } from '../output.ts'
import { textOfUsage } from './usage-text.ts'

/** How an operation of the API is said to mailboxctl. */
export interface Spoken {
  /** The noun and the verb. */
  readonly words: string
  /** Properties of query or body that stand as arguments behind those of the path, in this order. */
  readonly positional?: readonly string[]
  /** The properties that one more argument may give at once: the two sides of an address. */
  readonly sides?: readonly [local: string, domain: string]
  /** What of each row of a list is shown in its table. */
  readonly columns?: readonly string[]
  /** What people are shown, where it is no table and no list of properties. */
  readonly text?: (answer: never) => string
  /** What is asked before it is done, because it can't be undone. */
  readonly harm?: string
  /** Whether null is refused where its schema has it: nothing is cleared then. */
  readonly clearsNothing?: boolean
  /** Whether it leaves mail with the daemon to be carried. */
  readonly queues?: boolean
}

/** What tells one message from another; `--json` has all. */
const messageColumns = ['id', 'fromAddr', 'subject', 'createdAt']
const threadColumns = ['id', 'subject', 'isRead', 'messageCount', 'lastMessageAt']

/** Every operation that is a command, by its id. Names, bounds and help are those of its declaration. */
export const spoken: Readonly<Record<string, Spoken>> = {
  createPod: { words: 'pod create' },
  listPods: { words: 'pod list', columns: ['id', 'clientId', 'name', 'isDefault', 'createdAt'] },
  getPod: { words: 'pod get' },
  updatePod: { words: 'pod update' },
  deletePod: { words: 'pod delete', harm: 'The pod is deleted for good with its keys and rules.' },

  createInbox: { words: 'inbox create', sides: ['mailboxName', 'domain'] },
  listInboxes: { words: 'inbox list', columns: ['id', 'address', 'displayName', 'createdAt'] },
  getInbox: { words: 'inbox get' },
  updateInbox: { words: 'inbox update' },
  deleteInbox: {
    words: 'inbox delete',
    harm: 'The inbox is deleted with its messages, and its address is burnt: it is never given out again.',
  },

  listInboxMessages: { words: 'message list', columns: messageColumns },
  listMessages: { words: 'message search', columns: ['id', 'fromAddr', 'toAddr', 'subject', 'createdAt'] },
  getMessage: { words: 'message get' },
  getRawMessage: { words: 'message raw' },
  listMessageDeliveries: {
    words: 'message deliveries',
    columns: ['id', 'recipient', 'state', 'replyText', 'nextAttemptAt'],
  },
  waitForMessages: { words: 'message wait', columns: messageColumns },
  sendMessage: { words: 'message send', queues: true },
  replyToMessage: { words: 'message reply', queues: true },
  replyAllToMessage: { words: 'message reply-all', queues: true },
  forwardMessage: { words: 'message forward', queues: true },
  downloadAttachmentByName: { words: 'message attachment' },
  getAttachmentText: { words: 'message attachment-text' },
  deleteMessage: {
    words: 'message delete',
    harm: 'The message is deleted for good; recipients for whom it is still queued do not get it.',
  },

  listThreads: { words: 'thread list', columns: threadColumns },
  listAllThreads: { words: 'thread search', columns: threadColumns },
  getThread: { words: 'thread get' },
  getThreadMessages: { words: 'thread messages', columns: messageColumns },
  updateThread: { words: 'thread update', clearsNothing: true },
  deleteThread: { words: 'thread delete', harm: 'The thread is deleted for good, with its messages.' },

  createDraft: { words: 'draft create' },
  listDrafts: { words: 'draft list', columns: ['id', 'to', 'subject', 'status', 'sendAt'] },
  getDraft: { words: 'draft get' },
  updateDraft: { words: 'draft update' },
  sendDraft: { words: 'draft send', queues: true },
  deleteDraft: { words: 'draft delete', harm: 'The draft is deleted for good.' },

  listEvents: {
    words: 'event list',
    columns: ['event_id', 'event', 'inbox_address', 'occurred_at'],
  },
  listEventDeliveries: {
    words: 'event deliveries',
    columns: ['id', 'state', 'attempts', 'status', 'url', 'error'],
  },

  getPolicy: { words: 'policy get', text: textOfPolicy },
  replacePolicy: {
    words: 'policy replace',
    text: textOfPolicy,
    harm: 'Of each direction that is given, the rules that stand here are replaced by those that are given.',
  },
  setPolicyMode: { words: 'policy mode', positional: ['mode'], text: textOfPolicy },
  createPolicyRule: { words: 'policy add', positional: ['type', 'value'] },
  deletePolicyRule: { words: 'policy remove', harm: 'The rule holds no more, for the next mail.' },
  listPolicyAudit: {
    words: 'policy audit',
    columns: ['createdAt', 'action', 'direction', 'address', 'reason', 'mode', 'type', 'value'],
  },

  listMembers: { words: 'member list', columns: ['address', 'name', 'createdAt'] },
  createMember: { words: 'member add', positional: ['address'] },
  deleteMember: {
    words: 'member remove',
    harm: 'Mail is forwarded there only when the address consents; what is forwarded there already goes on.',
  },

  getUsage: { words: 'usage show', text: textOfUsage },
  getMe: { words: 'account show' },
}

/** The sender rules of a level, for people: each direction with its mode, its rules and those of other levels. */
function textOfPolicy(policy: Policy): string {
  return (['inbound', 'outbound'] as const)
    .map(direction => {
      const { mode, effectiveMode, rules, inheritedRules } = policy[direction]
      const rows = [
        ...rules.map(rule => ({ ...rule, set: 'here' })),
        ...inheritedRules.map(rule => ({ ...rule, set: 'elsewhere' })),
      ]
      const isListElsewhere = mode !== 'allowlist' && effectiveMode === 'allowlist'
      const head = `${direction}: mode ${mode}${isListElsewhere ? ' (another level has an allowlist)' : ''}`
      return rows.length > 0
        ? `${head}\n${tableOf(rows, ['id', 'type', 'value', 'set'])}`
        : `${head}, no rules`
    })
    .join('\n\n')
}
