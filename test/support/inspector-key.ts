/** The key of the inspector: a secret of servers that a test looks into, and a cookie of whoever may. */
export const inspectorSecrets = { EDGEMCP_INSPECTOR_KEY: 'key-of-the-inspector' }

/** What a browser sends that was opened with the link. */
export const inspectorCookie = (url: URL): { Cookie: string } => ({
  Cookie: `edgemcp-inspector-${url.port}=${inspectorSecrets.EDGEMCP_INSPECTOR_KEY}`,
})
