/** What a message is; the model says it to clients, and settings name it. */
export const categories = ['personal', 'automated', 'marketing', 'bounce', 'spam', 'malicious'] as const
