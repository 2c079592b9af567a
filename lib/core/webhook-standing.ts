import { limits } from '../base/limits.ts'

/** Which webhooks have failed again and again, as far as this process has seen. */
export interface WebhookStanding {
  note(url: string, isDelivered: boolean): void
  /** Whether the last `limits.webhookFailures` calls all failed. */
  isFailing(url: string): boolean
}

/** Remembers at most `limits.webhooksFailing` of them, those that failed last; one that answers well is forgotten. */
export function createWebhookStanding(): WebhookStanding {
  const failures = new Map<string, number>()
  return {
    note(url, isDelivered) {
      const before = failures.get(url) ?? 0
      failures.delete(url)
      if (isDelivered) return
      failures.set(url, before + 1)
      if (failures.size > limits.webhooksFailing) failures.delete(failures.keys().next().value!)
    },
    isFailing: url => (failures.get(url) ?? 0) >= limits.webhookFailures,
  }
}
