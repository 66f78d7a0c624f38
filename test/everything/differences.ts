/** Every difference between the reference server and examples/everything that is on purpose, with its reason. */
import type { ExpectedDifference } from './compare.ts'

const session = /2025-11-25/
const stateless = /2026-07-28/

export const expectedDifferences: readonly ExpectedDifference[] = [
  // Start of a session
  {
    cases: /initialize$/,
    path: /^serverInfo\./,
    reason: 'Each server has its own name, title and version.',
  },
  {
    cases: /initialize$/,
    path: /^capabilities\.extensions$/,
    reason: 'The extension of 2026-07-28 for tasks is declared too. The reference server has the tasks of 2025-11-25.',
  },
  {
    client: stateless,
    cases: /initialize$/,
    path: /^capabilities\.tasks$/,
    reason: '2026-07-28 has no capability "tasks".',
  },

  // Lists
  {
    cases: /tools\/list/,
    path: /Schema\.\$schema$/,
    reason:
      'Schemas are in JSON Schema 2020-12, the default dialect of the protocol. The reference server converts them to draft-07.',
  },
  {
    cases: /tools\/list/,
    path: /^result\.tools\.[\w-]+\.inputSchema\.(properties|additionalProperties)$/,
    reason: 'A tool without arguments refuses arguments. The reference server accepts any.',
  },
  {
    client: session,
    cases: /tools\/list/,
    path: /\.execution$/,
    reason: 'The reference server writes out taskSupport "forbidden", which is the default.',
  },
  {
    client: stateless,
    cases: /tools\/list/,
    path: /\.execution$/,
    reason: '2026-07-28 has no member "execution".',
  },
  {
    cases: /resources\/templates\/list/,
    path: /^result\.resourceTemplates\.demo:\/\/resource\/(session|file)\//,
    reason:
      'Files belong to templates, because a Worker registers everything at its start. The reference server registers each file.',
  },

  {
    cases: /a client with {"elicitation":{"url":{}}}: tools\/list/,
    path: /^result\.tools\.trigger-elicitation-request$/,
    reason:
      'A tool with a form needs a client with forms. The reference server lists it for clients that have URL elicitation only.',
  },

  {
    cases: /files of a session: resources\/list/,
    path: /\.description$/,
    reason: 'Listed files have the description of their template.',
  },

  // Unknown names and invalid params
  {
    cases: /no-such-tool|a client without capabilities: tools\/call/,
    path: /^(result|error)$/,
    reason:
      'An unknown tool is a protocol error (-32602), as the specification says. The reference server returns a result with isError.',
  },
  {
    client: session,
    cases: /resources\/read .*(unknown|image|\/(0|-1|1\.5|a)"})/,
    path: /^error\.(code|data)$/,
    reason:
      'A resource that does not exist is -32002 with its URI, as 2025-11-25 says. The reference server returns -32602 or -32603.',
  },
  {
    client: stateless,
    cases: /resources\/read .*(unknown|image|\/(0|-1|1\.5|a)"})/,
    path: /^error\.(code|data)$/,
    reason:
      'A resource that does not exist is -32602 with its URI, as 2026-07-28 says. The reference server returns -32603 for some.',
  },
  {
    cases: /a session: resources\/subscribe .*unknown:resource/,
    path: /^(result|error)$/,
    reason: 'A client can subscribe to resources that it can read. The reference server accepts any URI.',
  },
  {
    cases: /prompts\/get .*"resourceType":("Image"|"Text","resourceId":"(0|1\.5|a)")/,
    path: /^error\.code$/,
    reason: 'Invalid arguments are -32602. The reference server returns -32603.',
  },
  {
    cases: /completion\/complete .*("name":"no-such-argument"|features\.md)/,
    path: /^(result|error)$/,
    reason: 'An argument that does not exist is -32602. The reference server returns no values.',
  },
  {
    cases: /logging\/setLevel {"level":"loud"}/,
    path: /^error\.code$/,
    reason: 'An unknown level is -32602, as the specification says. The reference server returns -32603.',
  },

  // Tools
  {
    cases: /get-env/,
    path: /^result\.content\.0\.text\.1\./,
    reason: 'A Worker has no environment of a process. The reference server has the variable PORT too.',
  },
  {
    cases: /get-tiny-image/,
    path: /^result\.content\.2\.text$/,
    reason: 'Each server describes its own image.',
  },
  {
    cases: /"data":"data:nonsense"/,
    path: /^result\.content\.0\.text$/,
    reason: 'The message is that of fetch: of workerd, and of Node.',
  },
  {
    cases: /"data":"data:text\/plain;base64,!!!"/,
    path: /^result\./,
    reason: 'fetch of workerd skips characters that are not base64.',
  },
  {
    cases: /^a client that answers every request: resources\/read .*\/12345678901234567890"}$/,
    path: /^(result|error)$/,
    reason:
      'A number that JavaScript rounds names no resource. The reference server answers with the resource of the rounded number.',
  },
  {
    client: session,
    cases: /gzip-file-as-resource.*ü/,
    path: /\.uri$/,
    reason: 'URIs are percent-encoded (RFC 3986). The reference server returns the name as it is.',
  },
  {
    client: stateless,
    cases: /gzip-file-as-resource/,
    path: /^result\.content\.0\.(resource\.)?uri$/,
    reason: '2026-07-28 has no sessions: the URI of a file has a handle.',
  },

  // Prompts
  {
    cases: /prompts\/get/,
    path: /^result\.description$/,
    reason: 'Results have the description of their prompt, which is optional.',
  },

  // Input requests
  {
    cases: /a client that answers every request: tools\/call {"name":"get-roots-list"/,
    path: /^requests\.0$/,
    reason: 'A call requests the roots when it needs them. The reference server requests them when a session starts.',
  },
  {
    cases: /trigger-elicitation-request|simulate-research-query/,
    path: /^requests\.0\.params\.mode$/,
    reason: 'Requests of forms have the mode "form". The reference server leaves out this default.',
  },
  {
    cases: /trigger-elicitation-request.* {"action":"accept"}$/,
    path: /^(result|error|result\.isError|result\.content\.0\.text)$/,
    reason:
      'Input responses are validated: a form without its required field is refused. The reference server takes any response.',
  },
  {
    client: session,
    cases: /refused: No (dialog|model)/,
    path: /^result\.content\.0\.text$/,
    reason: 'The error names the input request that the client refused.',
  },
  {
    client: stateless,
    cases: /refused: No (dialog|model)/,
    path: /^(result|error)$/,
    reason: 'A client of 2026-07-28 that cannot answer ends the call itself.',
  },
  {
    cases: /trigger-url-elicitation.*"url":"(http:|javascript:)/,
    path: /^(result\.(content\.\d(\.text)?|isError)|requests\.0)$/,
    reason: 'Users are sent to https pages only. The reference server sends them anywhere, also to javascript: URLs.',
  },
  {
    client: session,
    cases: /"errorPath":true/,
    path: /^error\.data\.elicitations\.0\.(url|message)$/,
    reason: 'URLs are normalized ("https://modelcontextprotocol.io/"), and each server has its own words.',
  },
  {
    client: stateless,
    cases: /trigger-url-elicitation/,
    path: /^requests\.0\.params\.elicitationId$/,
    reason: 'Elicitations of 2026-07-28 have no id.',
  },
  {
    client: stateless,
    cases: /"errorPath":true/,
    path: /^(error|result|requests\.\d.*)$/,
    reason: '2026-07-28 has no error -32042: the prerequisite is an input request of the call.',
  },

  // Tasks
  {
    cases: /^tasks: (task|cancel)/,
    path: /^created\.result\.task\.statusMessage$/,
    reason: 'A task is created before its handler runs, and has no status message yet.',
  },
  {
    cases: /tasks\/list|cancel a task/,
    path: /^(cancelled\.)?result\._meta$/,
    reason: 'The reference server adds an empty _meta to some results.',
  },
  {
    cases: /^tasks: task/,
    path: /^waiting\.result\.statusMessage$/,
    reason:
      'The status message of a task that waits for input is "Waiting for input", with the message of the input request.',
  },
  {
    cases: /^tasks: (cancel a task|tasks\/list)/,
    path: /statusMessage$/,
    reason: 'A cancelled task keeps its last status message. The reference server replaces it.',
  },
  {
    cases: /cancel a task/,
    path: /^result\.error\.code$/,
    reason: 'The result of a cancelled task is an error of the request (-32602). The reference server returns -32603.',
  },
  {
    cases: /tasks: tools\/call {"name":"echo"/,
    path: /^error\.code$/,
    reason:
      'A tool that is no task refuses params.task with -32601, as 2025-11-25 says. The reference server returns -32602.',
  },
  {
    cases: /tasks: tools\/call {"name":"simulate-research-query","arguments":{}/,
    path: /^(result|error)$/,
    reason:
      'Invalid arguments are the result of the task, which the model can read. The reference server returns an invalid result.',
  },
  {
    cases: /tasks: tools\/call {"name":"simulate-research-query","arguments":{"topic"/,
    path: /^(result|error)$/,
    reason:
      'A call without params.task is -32601, as 2025-11-25 says. The reference server returns a result with isError.',
  },

  {
    cases: /^tasks of the client: trigger/,
    path: /^result\.content\.\d\.text\.0$/,
    reason: 'A handler gets the result of a task of the client. How often the session polled is not known to it.',
  },
  {
    cases: /^tasks of the client: trigger-elicitation/,
    path: /^result\.content\.\d\.text\.1\._meta$/,
    reason: 'A handler gets the validated content of a form, without the _meta of the response.',
  },

  // Updates
  {
    client: stateless,
    cases: /^updates:/,
    path: /^(started|stopped)\.result\.content\.0\.text$/,
    reason: 'Without sessions, simulated updates go to all clients without session.',
  },
  {
    client: stateless,
    cases: /^updates:/,
    path: /_meta$/,
    reason: 'Notifications of 2026-07-28 name their subscription.',
  },
]
