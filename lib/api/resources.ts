import type { Operation } from './operation.ts'

/** The operations of each resource by themselves, for who does one alone: to load all of them takes longer than any works. */
const resources: Readonly<Record<string, () => Promise<readonly Operation[]>>> = {
  pods: async () => (await import('./pods.ts')).podOperations,
  inboxes: async () => (await import('./inboxes.ts')).inboxOperations,
  messageSends: async () => (await import('./message-sends.ts')).messageSendOperations,
  messages: async () => (await import('./messages.ts')).messageOperations,
  attachments: async () => (await import('./attachments.ts')).attachmentOperations,
  threads: async () => (await import('./threads.ts')).threadOperations,
  deletion: async () => (await import('./deletion.ts')).deletionOperations,
  drafts: async () => (await import('./drafts.ts')).draftOperations,
  events: async () => (await import('./events.ts')).eventOperations,
  policy: async () => (await import('./policy.ts')).policyOperations,
  members: async () => (await import('./members.ts')).memberOperations,
  usage: async () => (await import('./usage.ts')).usageOperations,
}

/** The resource that each operation is declared with, by its id. */
export async function resourceOfEach(): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    Object.entries(resources).map(async ([resource, load]) =>
      (await load()).map(({ id }) => [id, resource] as const),
    ),
  )
  return new Map(found.flat())
}

/** The operation of a resource. @throws Error when there is none */
export async function loadOperation(resource: string, id: string): Promise<Operation> {
  const found = (await resources[resource]?.())?.find(one => one.id === id)
  if (!found) throw new Error(`${resource} has no operation ${id}`)
  return found
}
