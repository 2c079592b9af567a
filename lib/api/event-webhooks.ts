import Type from 'typebox'
import { type EventName, eventMeanings, eventNames } from '../model/event.ts'
import { EventBody } from '../model/event-body.ts'
import { eventData } from '../model/event-data.ts'
import { named } from '../model/shape.ts'
import type { Webhook } from './openapi.ts'

/** message.received → MessageReceived */
function pascal(name: EventName): string {
  return name.replaceAll(/(^|\.)(\w)/g, (_, _dot, letter) => letter.toUpperCase())
}

/** What webhooks are called with, by event; the streams tell the same. */
export const eventWebhooks: readonly Webhook[] = eventNames.map(name => ({
  name,
  summary: eventMeanings[name][0],
  description: eventMeanings[name][1],
  body: named(`${pascal(name)}Event`, eventMeanings[name][0], {
    ...EventBody.properties,
    event: Type.Literal(name, { description: `Always \`${name}\`.` }),
    data: eventData[name],
  }),
}))
