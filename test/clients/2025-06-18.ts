import { Client } from 'mcp-sdk-2025-06-18/client/index.js'
import { StreamableHTTPClientTransport } from 'mcp-sdk-2025-06-18/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from 'mcp-sdk-2025-06-18/types.js'
import { capabilitiesOf, elicited, listedRoots, sampled } from './answers.ts'
import { type Generation, newNotes, overhear } from './generation.ts'
import { reconnectionOptions, sdk1Client } from './sdk-1.ts'

export const sdk20250618: Generation = {
  name: 'sdk 1.23.1',
  revision: '2025-06-18',
  cannot: {
    'structured output of any kind': {
      because: 'the revision has objects only, so it is wrapped',
      shows: /expected \{ result: \[ 'one', 'two'/,
    },
    polling: {
      because: 'the revision does not let a server send its client away',
      shows: /requests with Last-Event-ID/,
    },
    'cancelling by leaving': { because: 'a lost connection may come back', shows: /expected 'waiting' to be/ },
  },
  async connect(url, answers, sessionId) {
    const transport = new StreamableHTTPClientTransport(url, { sessionId, reconnectionOptions })
    const heard = overhear(transport)
    const notes = newNotes()
    const client = new Client({ name: 'sdk 1.23', version: '1.23.1' }, { capabilities: capabilitiesOf(answers) })
    client.onerror = (error) => notes.complaints.push(error)
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void notes.updates.push(params.uri),
    )
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void notes.changes.add('tools'))
    client.setNotificationHandler(PromptListChangedNotificationSchema, () => void notes.changes.add('prompts'))
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void notes.changes.add('resources'))
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void notes.logs.push(params.level))
    const { elicit, sample, roots } = answers
    if (elicit) client.setRequestHandler(ElicitRequestSchema, async ({ params }) => elicited(elicit, params))
    if (sample) client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => sampled(sample, params))
    if (roots) client.setRequestHandler(ListRootsRequestSchema, () => listedRoots(roots))
    await client.connect(transport)
    return sdk1Client(client, {
      notes,
      heard,
      revision: () => transport.protocolVersion,
      session: () => transport.sessionId,
      end: () => transport.terminateSession(),
    })
  },
}
