/** @see https://www.rfc-editor.org/rfc/rfc4648#section-8 */
export const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
