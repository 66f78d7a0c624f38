export type Question = {
  client: string
  redirect: string
  scopes: readonly string[]
  /** Who is signed in. */
  person: string | undefined
}

/** Asks a person who they are, and whether a client may act for them. */
export const consentPage = ({ client, redirect, scopes, person }: Question): string => `<!doctype html>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>Let it in?</title>
<style>body { font: 1rem/1.5 system-ui; max-width: 30rem; margin: 4rem auto; padding: 0 1rem }</style>
<h1>${escaped(client)}</h1>
<p>It asks for:</p>
<ul>${scopes.map((scope) => `<li><code>${escaped(scope)}</code></li>`).join('')}</ul>
<p>You will be sent on to <code>${escaped(URL.parse(redirect)?.host ?? redirect)}</code>.</p>
<form method="post">
  <p><label>You are <input name="person" value="${escaped(person ?? 'ada')}"${person === undefined ? '' : ' readonly'}></label></p>
  <button name="answer" value="yes">Let it in</button>
  <button name="answer" value="no">No</button>
</form>
`

const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
