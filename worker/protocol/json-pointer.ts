import { isObject } from './jsonrpc.ts'

/**
 * Returns the value in a document that a JSON Pointer names, and `undefined` where there is none.
 *
 * @param pointer such as `/components/schemas/Pet`. Empty: the document itself
 * @see https://www.rfc-editor.org/rfc/rfc6901#section-4
 */
export function resolvePointer(document: unknown, pointer: string): unknown {
  const [start, ...tokens] = pointer.split('/')
  if (start !== '') return undefined
  return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~')).reduce<unknown>(memberAt, document)
}

/**
 * Returns the value that a reference within a document names, and `undefined` where there is none.
 *
 * @param reference such as `#/components/schemas/Pet`. A reference to another document names nothing
 * @see https://www.rfc-editor.org/rfc/rfc6901#section-6
 */
export function resolveFragment(document: unknown, reference: string): unknown {
  return reference.startsWith('#') ? resolvePointer(document, percentDecoded(reference.slice(1))) : undefined
}

function memberAt(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return Object.hasOwn(value, name) ? value[Number(name)] : undefined
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that encodes nothing is literal.
    return text
  }
}
