import type { Clock } from '../../base/clock.ts'
import { servingUrl } from '../../services/gateways.ts'
import {
  changePassword,
  type LiveSession,
  type LoginClient,
  type LoginPorts,
  logIn,
  logInByLink,
  logOut,
  logOutEverywhere,
  type OpenedSession,
  showSession,
} from '../../services/sessions.ts'
import { readCurrency } from '../../services/settings.ts'
import type { Call, HandlersOf } from '../call.ts'
import type { PresentedCredential, SessionCookie } from '../session/credentials.ts'
import { networksOf } from '../session/login-throttle.ts'

type Ids = 'log_in' | 'log_in_by_link' | 'get_session' | 'log_out' | 'log_out_everywhere' | 'change_password'

/** The ports of the session operations. */
export interface SessionPorts extends LoginPorts {
  readonly cookie: SessionCookie
  readonly clock: Clock
}

export function sessionHandlers({ cookie, clock, ...ports }: SessionPorts): HandlersOf<Ids> {
  return {
    async log_in({ body, context, assertSameSite, replaced, ...call }) {
      // A page of another site must not log its visitor in as another user, either.
      if (body.carrier === 'cookie') assertSameSite()
      return opened(await logIn(context, ports, body, clientOf(call)), replaced)
    },
    async log_in_by_link({ body, context, assertSameSite, replaced, ...call }) {
      if (body.carrier === 'cookie') assertSameSite()
      return opened(await logInByLink(context, ports.sessions, body, clientOf(call)), replaced)
    },
    async get_session({ caller, context }) {
      const [url, currency] = await Promise.all([servingUrl(context), readCurrency(context.store)])
      return {
        body: { ...showSession(caller.session), ...(url !== undefined && { gateway_url: url }), currency },
      }
    },
    async log_out({ caller: { session }, context }) {
      await logOut(context, session)
      return { body: undefined, ...clearCookie(session) }
    },
    async log_out_everywhere({ caller, context }) {
      await logOutEverywhere(context, caller)
      return { body: undefined, ...clearCookie(caller.session) }
    },
    async change_password({ body, caller, context, ...call }) {
      const passwords = { name: caller.name, current: body.current_password, next: body.new_password }
      await changePassword(context, ports, passwords, clientOf(call))
      return { body: undefined, ...clearCookie(caller.session) }
    },
  }

  /** @param replaced Of a log-in by cookie: nothing could end its session any more. */
  async function opened({ document, token, session, device }: OpenedSession, replaced?: PresentedCredential) {
    const { name: user } = session.user
    if (device === undefined) return { body: { ...document, token }, user }
    if (replaced?.carrier === 'cookie') await ports.sessions.end(replaced.token)
    const cookies = [cookie.set(token, session.expiresAtMs - clock.nowMs()), cookie.setDevice(device)]
    return { body: document, user, headers: { 'set-cookie': cookies } }
  }

  function clearCookie({ carrier }: LiveSession) {
    return carrier === 'cookie' ? { headers: { 'set-cookie': cookie.clear() } } : {}
  }
}

function clientOf({
  address,
  device,
  hasLeft,
}: Pick<Call<Ids>, 'address' | 'device' | 'hasLeft'>): LoginClient {
  return { address, ...networksOf(address), hasLeft, ...(device !== undefined && { device }) }
}
