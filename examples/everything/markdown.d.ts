/** As the rule of wrangler.toml bundles it. */
declare module '*.md' {
  const text: string
  export default text
}
