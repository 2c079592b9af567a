import { findLinks } from '../mail/text/links.ts'
import { findOtp } from '../mail/text/otp.ts'
import { newText } from '../mail/text/reply-text.ts'
import { findSignInLink } from '../mail/text/sign-in-link.ts'
import { type Extraction, oneTimeOf } from './found.ts'

/** @param isFromProgram whether its header or envelope says that a program wrote it: then less has to call a code a code */
export function extract(
  message: {
    subject: string
    text: string
    html: string
    /** Message-IDs of In-Reply-To and References: a message that names none quotes nothing. */
    inReplyTo?: readonly string[] | undefined
    references?: readonly string[] | undefined
  },
  isFromProgram = false,
): Extraction {
  const { text: reply, html } = newText(message)
  const own = { subject: message.subject, text: reply, html }
  // A code in what is quoted was for the one who is quoted.
  const otp = findOtp({ ...own, isFromProgram })
  const links = findLinks(own)
  return { replyText: reply, otp, oneTime: oneTimeOf(otp, otp ?? findSignInLink({ ...own, links })), links }
}
