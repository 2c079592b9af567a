import Type from 'typebox'
import { attachmentsBytes } from '../base/problem.ts'
import { openDraftAttachment } from '../core/drafts/attachments.ts'
import { getAttachmentText } from '../core/mailbox/attachment-text.ts'
import {
  findAttachmentByName,
  type OpenedAttachment,
  openMessageAttachment,
} from '../core/mailbox/attachments.ts'
import { AttachmentText } from '../model/message.ts'
import { shape } from '../model/shape.ts'
import {
  type Download,
  largeAnswerBytes,
  type Operation,
  openOperation,
  operation,
  Redirect,
} from './operation.ts'

const attachmentIndex = Type.Optional(
  Type.Integer({
    minimum: 0,
    description:
      'Which attachment of the message it is, where several have the name; the first of the message is 0.',
  }),
)

/** The row has the size that was decoded when the message came; what is streamed now says its own length. */
function downloadOf(attachment: OpenedAttachment): Download {
  return { ...attachment, sizeBytes: undefined, heldBytes: attachment.sizeBytes }
}

export const attachmentOperations: readonly Operation[] = [
  operation({
    id: 'downloadAttachmentByName',
    method: 'get',
    path: '/v1/attachments/{messageId}/{filename}',
    tag: 'Messages',
    summary: "An attachment's bytes by its name.",
    description:
      'The first of that name, unless index says which; and the bytes, unless Accept asks for JSON: then a redirect to an URL that needs no key.',
    access: 'inbox',
    query: shape({ index: attachmentIndex }),
    success: { status: 200, download: '*/*', example: 'Seventy-two tons.' },
    redirect:
      'To an URL that is good for one hour without a key: where Accept names application/json and not */*.',
    answerBytes: attachmentsBytes,
    problems: [],
    handle: async ({ app, caller, params, query, header }): Promise<Download | Redirect> => {
      const named = { filename: params.filename!, index: query.index }
      const { row, index, url } = await findAttachmentByName(app, caller, params.messageId!, named)
      const accept = header('accept') ?? '*/*'
      if (/\bapplication\/json\b/i.test(accept) && !accept.includes('*/*')) return new Redirect(url)
      const unsigned = { messageId: row.id, index, expires: undefined, key: undefined, signature: undefined }
      return downloadOf(await openMessageAttachment(app, caller, unsigned))
    },
  }),
  // Before what has an index and a name: an URL of ours never ends in this name.
  operation({
    id: 'getAttachmentText',
    method: 'get',
    path: '/v1/attachments/{messageId}/{filename}/text',
    tag: 'Messages',
    summary: 'What an attachment says, as plain text.',
    description:
      'Of a PDF, a DOCX, XLSX or PPTX, of HTML, CSV and text: read when it is first asked for, within bounds of time and memory, and kept; the message shows its beginning from then on (parsedText). The first of that name, unless index says which.',
    access: 'inbox',
    query: shape({ index: attachmentIndex }),
    success: { status: 200, schema: AttachmentText },
    answerBytes: largeAnswerBytes,
    problems: [],
    handle: ({ app, caller, params, query }) =>
      getAttachmentText(app, caller, params.messageId!, { filename: params.filename!, index: query.index }),
  }),
  openOperation({
    id: 'downloadAttachment',
    method: 'get',
    path: '/v1/attachments/{messageId}/{index}/{filename}',
    tag: 'Messages',
    summary:
      "An attachment's bytes, by a signed URL of the last hour or with a key that reaches the message.",
    description:
      'The `url` of an attachment leads here and needs no key for an hour, or until the API key that fetched it is revoked. With a key the address is good at any time. What is served is for saving, never shown in a browser as a page of this server.',
    access: 'anyone',
    query: shape({
      expires: Type.Optional(
        Type.String({
          description:
            'Of a signed URL: the Unix second until which it is good; it stands in the `url` of the attachment.',
        }),
      ),
      key: Type.Optional(
        Type.String({
          description: 'The id of the API key that a signed URL was made for. Revoking the key ends the URL.',
        }),
      ),
      signature: Type.Optional(
        Type.String({
          description: 'Of a signed URL: what proves it, as it stands in the `url` of the attachment.',
        }),
      ),
    }),
    success: { status: 200, download: '*/*', example: 'Seventy-two tons.' },
    answerBytes: attachmentsBytes,
    problems: ['unauthorized'],
    handle: async ({ app, caller, params, query }): Promise<Download> => {
      const url = {
        messageId: params.messageId!,
        index: /^\d{1,4}$/.test(params.index!) ? Number(params.index) : -1,
        expires: query.expires,
        key: query.key,
        signature: query.signature,
      }
      const attachment =
        (await openDraftAttachment(app, caller, url)) ?? (await openMessageAttachment(app, caller, url))
      return downloadOf(attachment)
    },
  }),
]
