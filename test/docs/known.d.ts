// What a `ts` block of a page may use without saying where it comes from, unless it is a whole module (one with
// `export default`). Names that only one page needs are declared on that page, in the comment above the block.
declare const createServer: typeof import('edgemcp').createServer
declare const serve: typeof import('edgemcp').serve
declare const McpError: typeof import('edgemcp').McpError
declare const z: typeof import('zod')
declare const server: import('edgemcp').Server
declare const worker: import('edgemcp').ServedWorker & { readonly McpSession: import('edgemcp/sessions').SessionClass }
declare const ctx: import('edgemcp').Context
// biome-ignore lint/suspicious/noExplicitAny: what is bound to a Worker is said in its configuration, not on a page
declare const env: any
// As wrangler bundles them.
declare module '*.md' {
  const text: string
  export default text
}
declare module '*.json' {
  // biome-ignore lint/suspicious/noExplicitAny: it may be anything
  const document: any
  export default document
}
declare module '*.html' {
  const text: string
  export default text
}
