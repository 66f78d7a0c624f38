/** The diagrams of the documentation, by the name of their file in docs/images/diagrams. */
import { flow, groups, nested, sequence, tree } from './draw.ts'

const [client, worker, object] = [0, 1, 2]

const sessionLanes = ['Client', 'Worker', 'McpSession\nDurable Object']

export const diagrams: Readonly<Record<string, string>> = {
  'request-stateless': sequence({
    title: 'A call of a client of 2026-07-28 runs in the Worker and reaches no Durable Object',
    lanes: ['Client', 'Worker'],
    steps: [
      { arrow: [client, worker], text: 'POST tools/call' },
      { note: [worker, worker], text: 'handler runs', accent: true },
      { arrow: [worker, client], text: 'result, as JSON or a stream' },
    ],
  }),
  'request-session': sequence({
    title: 'A call in a session runs in the Durable Object of the session',
    lanes: sessionLanes,
    steps: [
      { arrow: [client, worker], text: 'POST initialize' },
      { arrow: [worker, client], text: 'result and session id', dashed: true },
      { note: [client, worker], text: 'Nothing is stored: the session id contains the result, encrypted.' },
      { arrow: [client, worker], text: 'POST tools/call with session id' },
      { arrow: [worker, object], text: 'one request' },
      { note: [object, object], text: 'handler runs', accent: true },
      { arrow: [object, worker], text: 'result', dashed: true },
      { arrow: [worker, client], text: 'result', dashed: true },
    ],
  }),
  'request-http-sse': sequence({
    title: 'HTTP+SSE: one stream carries all responses of a session of 2024-11-05',
    lanes: sessionLanes,
    steps: [
      { arrow: [client, worker], text: 'GET /sse' },
      { arrow: [worker, object], text: 'open stream' },
      { arrow: [worker, client], text: 'event: endpoint', dashed: true },
      { arrow: [client, worker], text: 'POST /messages' },
      { arrow: [worker, object], text: 'tools/call' },
      { arrow: [worker, client], text: '202 Accepted', dashed: true },
      { note: [object, object], text: 'handler runs', accent: true },
      { arrow: [object, client], text: 'result, on the stream of /sse', dashed: true },
    ],
  }),
  'request-steps': flow({
    title: 'The steps of a request, with the files that do them',
    steps: [
      { text: 'Find the route, check Host and Origin', place: 'worker/router.ts', exit: '403, 404' },
      { text: 'Authenticate the caller', place: 'worker/http/access.ts', exit: '401' },
      { text: 'Read and parse the body', place: 'worker/http/body.ts', exit: '400, 413' },
      { text: 'Find version and transport', place: 'worker/protocol/classify.ts', exit: '400' },
      { text: 'Read what the version carries', place: 'worker/http/…/read.ts', exit: '400, 404' },
      { text: 'Check scopes and rate limits', place: 'worker/http/access.ts', exit: '403, 429' },
      { text: 'Run interceptors, method, handler', place: 'worker/engine/run.ts', accent: true },
      { text: 'Write the outcome in the words of the version', place: 'worker/http/…/reply.ts' },
    ],
  }),
  'session-life': sequence({
    title: 'The life of a session: nothing is stored before it is needed, and everything is deleted in the end',
    lanes: sessionLanes,
    steps: [
      { arrow: [client, worker], text: 'initialize' },
      { note: [object, object], text: 'does not exist' },
      { arrow: [client, object], text: 'first call' },
      { note: [object, object], text: 'runs, stores nothing', accent: true },
      { arrow: [client, object], text: 'GET stream, subscribe, or a call that streams' },
      { note: [object, object], text: 'stores rows' },
      { note: [object, object], text: 'sleeps between messages: no duration is billed' },
      { note: [client, worker], text: 'A connection breaks: the client resumes with Last-Event-ID.' },
      { note: [object, object], text: 'idle for a day, or DELETE: deletes all rows' },
    ],
  }),
  'task-life': sequence({
    title: 'The life of a task',
    lanes: ['Client', 'Worker', 'McpTask\nDurable Object'],
    steps: [
      { arrow: [client, object], text: 'tools/call' },
      { arrow: [object, client], text: 'task id, status working', dashed: true },
      { note: [object, object], text: 'handler runs; each ctx.once is stored', accent: true },
      { arrow: [client, object], text: 'tasks/get: working' },
      { note: [object, object], text: 'ctx.sleep: not in memory until the alarm' },
      { note: [object, object], text: 'ctx.elicit: status input_required' },
      { arrow: [client, object], text: 'response to the input request' },
      { note: [object, object], text: 'handler runs again from its start', accent: true },
      { note: [object, object], text: 'status completed' },
      { arrow: [client, object], text: 'tasks/get, or tasks/result' },
      { arrow: [object, client], text: 'result', dashed: true },
      { note: [object, object], text: 'after the ttl: deletes all rows' },
    ],
  }),
  'input-request-stateless': sequence({
    title: 'Input requests of a stateless client: the client carries the journal',
    lanes: ['Client', 'Worker'],
    steps: [
      { arrow: [client, worker], text: 'tools/call' },
      { note: [worker, worker], text: 'round 1: handler runs until ctx.elicit', accent: true },
      { arrow: [worker, client], text: 'input_required, encrypted journal' },
      { note: [client, client], text: 'user answers' },
      { arrow: [client, worker], text: 'tools/call with answer and journal' },
      { note: [worker, worker], text: 'round 2: handler runs again from its start', accent: true },
      { arrow: [worker, client], text: 'result' },
    ],
  }),
  'input-request-session': sequence({
    title: 'Input requests in a session: the Durable Object stores the journal',
    lanes: sessionLanes,
    steps: [
      { arrow: [client, object], text: 'POST tools/call' },
      { note: [object, object], text: 'round 1: handler runs until ctx.elicit', accent: true },
      { arrow: [object, client], text: 'elicitation/create, on the stream of the call', dashed: true },
      { note: [object, object], text: 'journal is a row; object sleeps' },
      { note: [client, client], text: 'user answers' },
      { arrow: [client, object], text: 'POST the response' },
      { note: [object, object], text: 'round 2: handler runs again from its start', accent: true },
      { arrow: [object, client], text: 'result, on the stream of the call', dashed: true },
    ],
  }),
  'authorization-flow': sequence({
    title: 'A client gets a token from the authorization server and calls the MCP server with it',
    lanes: ['Client', 'MCP server', 'Authorization\nserver'],
    steps: [
      { arrow: [0, 1], text: 'POST without token' },
      { arrow: [1, 0], text: '401, URL of the metadata', dashed: true },
      { arrow: [0, 1], text: 'GET the metadata' },
      { arrow: [1, 0], text: 'issuer and scopes', dashed: true },
      { arrow: [0, 2], text: 'authorization code flow: user signs in and consents' },
      { arrow: [2, 0], text: 'access token for this MCP server', dashed: true },
      { arrow: [0, 1], text: 'POST with token' },
      { note: [1, 1], text: 'verifies signature, audience, scopes' },
      { arrow: [1, 0], text: 'result', dashed: true },
    ],
  }),
  'request-checks': flow({
    title: 'The checks of a request before its body is read, with the status of each refusal',
    steps: [
      { text: 'Is the host name allowed?', place: 'option hosts', exit: '403' },
      { text: 'Is the origin allowed?', place: 'option origins', exit: '403' },
      { text: 'Is it a preflight (OPTIONS)?', exit: '204' },
      { text: 'Is the token valid?', place: 'option auth', exit: '401' },
      { text: 'Read the body, run the call', accent: true },
    ],
  }),
  interceptors: nested({
    title: 'Interceptors wrap one another and the handler',
    boxes: ['interceptors of plugins', 'first interceptor of the server', 'second interceptor of the server'],
    inside: 'method and handler',
  }),
  proxy: sequence({
    title: 'A proxy translates between clients of any version and an upstream of another version',
    lanes: ['Client', 'Your server', 'Upstream'],
    steps: [
      { arrow: [0, 1], text: 'weather_forecast, caller’s token' },
      { note: [1, 1], text: 'checks scopes, removes the prefix' },
      { arrow: [1, 2], text: 'forecast, headers of yours' },
      { arrow: [2, 1], text: 'result', dashed: true },
      { arrow: [1, 0], text: 'result, in the client’s version', dashed: true },
    ],
  }),
  'subscriptions-fan-out': tree({
    title: 'A change goes from any isolate through McpSubscriptions objects to the Workers and sessions of subscribers',
    levels: [
      { name: 'note.updated(…)', boxes: 1, accent: true },
      { name: 'first McpSubscriptions', boxes: 1 },
      { name: 'up to 16 further McpSubscriptions objects', boxes: 4 },
      { name: 'Workers with streams, and session objects', boxes: 8 },
    ],
  }),
  'where-data-lives': groups({
    title: 'Which data the client, the Worker and the Durable Objects have, and for how long',
    groups: [
      {
        name: 'Client (encrypted by the server)',
        items: [
          ['session id', '7 days'],
          ['journal of a stateless call', '1 day'],
          ['position in a list', '1 day'],
        ],
      },
      { name: 'Worker', items: [['caches, connections', 'while the isolate lives']] },
      {
        name: 'Durable Objects',
        items: [
          ['McpSession: streams, open calls', 'until 1 day idle'],
          ['McpTask: call, journal, result', 'ttl of the task'],
          ['McpSubscriptions: recent changes', '5 minutes'],
          ['McpState: state of handlers', 'as declared'],
          ['key ring', 'as long as the class'],
        ],
      },
    ],
  }),
  'session-stream-relay': sequence({
    title: 'The Worker holds the connection and reconnects to the Durable Object when that is lost',
    lanes: sessionLanes,
    steps: [
      { arrow: [client, worker], text: 'POST or GET: event stream' },
      { arrow: [worker, object], text: 'hibernatable WebSocket' },
      { arrow: [object, worker], text: 'events 1.1, 1.2', dashed: true },
      { arrow: [worker, client], text: 'events 1.1, 1.2', dashed: true },
      { note: [object, object], text: 'lost: eviction, crash or deployment' },
      { arrow: [worker, object], text: 'reconnect, after 1.2' },
      { arrow: [object, worker], text: 'events 1.3 and on, from the log', dashed: true },
      { arrow: [worker, client], text: 'events 1.3 and on', dashed: true },
    ],
  }),
}
