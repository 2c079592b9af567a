import { addMember, listMembers, memberFaults, removeMember } from '../core/account/members.ts'
import { Member, MemberCreation } from '../model/member.ts'
import { pageOf, shape } from '../model/shape.ts'
import { lookup, type Operation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'

const path = '/v1/members'
const tag = 'Members'

export const memberOperations: readonly Operation[] = [
  lookup({
    id: 'listMembers',
    method: 'get',
    path,
    tag,
    summary: 'List the members of the organisation, by address.',
    description: 'Mail can be forwarded to them without a mail that asks for their consent.',
    access: 'account',
    query: shape(pageQuery),
    success: { status: 200, schema: pageOf(Member) },
    problems: [],
    handle: async ({ app, query }) => listAnswer(await listMembers(app, pageOfQuery(query))),
  }),
  operation({
    id: 'createMember',
    method: 'post',
    path,
    tag,
    summary: 'Make an address a member: mail can be forwarded to it without asking it.',
    description: 'Only for people who know of it: nobody asks them.',
    access: 'account',
    body: MemberCreation,
    faults: memberFaults,
    success: { status: 201, schema: Member },
    problems: ['member_exists'],
    handle: ({ app, body }) => addMember(app, body),
  }),
  operation({
    id: 'deleteMember',
    method: 'delete',
    path: `${path}/{address}`,
    tag,
    summary: 'Make an address a member no more. What is forwarded to it already goes on.',
    description: 'Forwarding to it that is set up later asks for its consent.',
    access: 'account',
    success: { status: 204 },
    problems: [],
    handle: ({ app, params }) => removeMember(app, params.address!),
  }),
]
