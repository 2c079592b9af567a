import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { startApi } from '../support/api-app.ts'

t.test(
  'a request that does not arrive in time is to be sent again, in its header and in its body',
  async t => {
    const { port, token, api } = await startApi(t, {
      http: 'header_timeout = "1s"\nrequest_timeout = "1s"',
    })
    const header = `POST /v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`
    for (const begun of [
      header,
      `${header}Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{"name":`,
    ]) {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(begun)
      const answer = await text(socket)
      t.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/)
      t.match(
        answer,
        /"error":"request_timeout","message":"The request did not arrive in time, so nothing was done/,
      )
    }
    t.equal((await api.get('/v1/pods')).body.total, 1, 'the default one alone')
  },
)
