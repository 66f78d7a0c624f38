/** The server of attacks, with two providers. */

import { Browser, formOf } from '../../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { type Asked, RawClient } from '../client.ts'
import { GitHub } from '../github.ts'

export type Attack = {
  readonly name: string
  by(stage: Stage): Promise<unknown>
  readonly outcome: unknown
}

export class Stage extends RawClient implements AsyncDisposable {
  readonly gitHub: GitHub
  /** The second provider. */
  readonly work: GitHub
  readonly #server: TestServer

  private constructor(server: TestServer, gitHub: GitHub, work: GitHub) {
    super(server.url)
    this.#server = server
    this.gitHub = gitHub
    this.work = work
  }

  get harness() {
    return this.#server.harness
  }

  static async start(secrets: Record<string, string> = {}): Promise<Stage> {
    const [gitHub, work] = await Promise.all([GitHub.start(), GitHub.start()])
    const server = await startServer('test/sign-in/server', { GITHUB: gitHub.url, WORK: work.url, ...secrets })
    return new Stage(server, gitHub, work)
  }

  /** Opens the consent page. */
  async consent(changes: Record<string, string | undefined> = {}, browser = new Browser()) {
    const asked = this.ask(await this.registered(), changes)
    const page = await (await browser.visit(asked.url)).text()
    return { asked, browser, page, form: formOf(page, { decision: 'github' }) }
  }

  decide(browser: Browser, form: URLSearchParams, init: RequestInit = {}): Promise<Response> {
    return browser.visit(this.at('/authorize'), form, init)
  }

  /** Approves, and stops before the callback: the URL to which the provider sends the user. */
  async callback(changes: Record<string, string | undefined> = {}, browser = new Browser()) {
    const { asked, form } = await this.consent(changes, browser)
    const toProvider = (await this.decide(browser, form)).headers.get('Location') as string
    const back = (await browser.visit(new URL(toProvider))).headers.get('Location') as string
    return { asked, browser, url: new URL(back) }
  }

  /** A code that is not redeemed yet. */
  async unredeemed(changes: Record<string, string | undefined> = {}): Promise<{ asked: Asked; code: string }> {
    const asked = this.ask(await this.registered(), changes)
    return { asked, code: await this.code(asked) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
    await Promise.all([this.gitHub[Symbol.asyncDispose](), this.work[Symbol.asyncDispose]()])
  }
}
