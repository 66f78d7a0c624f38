/** As wrangler bundles it without being told. */
declare module '*.html' {
  const text: string
  export default text
}
