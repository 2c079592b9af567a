/** What a refusal is about; config/replies.txt says what each means. */
export const replyClasses = [
  'recipient',
  'full',
  'sender',
  'policy',
  'reputation',
  'content',
  'protocol',
  'host',
  'greylist',
  'rate',
] as const
export type ReplyClass = (typeof replyClasses)[number]
