/** The Message-ID of a message of ours, with its angle brackets. */
export function formatMessageId(id: string, domain: string): string {
  return `<${atoms(id)}@${atoms(domain)}>`
}

function atoms(text: string): string {
  return text.replace(/[^A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]/g, '')
}
