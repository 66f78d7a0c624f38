/** Which forms of an answer a client takes. A missing header takes everything, as in HTTP. */
export type Accepts = { readonly json: boolean; readonly stream: boolean }

/** @see https://www.rfc-editor.org/rfc/rfc9110#name-accept */
export function accepts(header: string | null): Accepts {
  if (header === null || header.trim() === '') return { json: true, stream: true }
  const types = header
    .toLowerCase()
    .split(',')
    .map((entry) => entry.split(';'))
    .filter(([, ...parameters]) => !parameters.some((parameter) => /^\s*q=0(?:\.0*)?\s*$/.test(parameter)))
    .map(([type]) => type?.trim())
  const has = (...wanted: string[]) => wanted.some((type) => types.includes(type))
  return {
    json: has('application/json', 'application/*', '*/*'),
    stream: has('text/event-stream', 'text/*', '*/*'),
  }
}
