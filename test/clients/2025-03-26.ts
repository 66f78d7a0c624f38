import { Client } from 'mcp-sdk-2025-03-26/client/index.js'
import { StreamableHTTPClientTransport } from 'mcp-sdk-2025-03-26/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from 'mcp-sdk-2025-03-26/types.js'
import { capabilitiesOf, listedRoots, sampled } from './answers.ts'
import { type Generation, newNotes, overhear } from './generation.ts'
import { reconnectionOptions, sdk1Client } from './sdk-1.ts'

export const sdk20250326: Generation = {
  name: 'sdk 1.12.3',
  revision: '2025-03-26',
  cannot: {
    'structured output': { because: 'the revision has none', shows: /expected undefined to deeply equal/ },
    'structured output of any kind': { because: 'the revision has none', shows: /expected undefined to deeply equal/ },
    'resource links': { because: 'the revision has none', shows: /to deep equally contain ObjectContaining/ },
    elicitation: { because: 'the revision has none', shows: /This call / },
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
    const client = new Client({ name: 'sdk 1.12', version: '1.12.3' }, { capabilities: capabilitiesOf(answers) })
    client.onerror = (error) => notes.complaints.push(error)
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void notes.updates.push(params.uri),
    )
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void notes.changes.add('tools'))
    client.setNotificationHandler(PromptListChangedNotificationSchema, () => void notes.changes.add('prompts'))
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void notes.changes.add('resources'))
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void notes.logs.push(params.level))
    const { sample, roots } = answers
    if (sample) client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => sampled(sample, params))
    if (roots) client.setRequestHandler(ListRootsRequestSchema, () => listedRoots(roots))
    await client.connect(transport)
    return sdk1Client(client, {
      notes,
      heard,
      revision: () => heard[0]?.result?.protocolVersion as string | undefined,
      session: () => transport.sessionId,
      end: () => transport.terminateSession(),
    })
  },
}
