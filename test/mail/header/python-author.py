"""Reads header sections, one in hexadecimal on each line, and says for each in JSON what Python's email takes for the
author: the mailboxes of all From fields, the number of these fields, and whether it saw a defect."""
import json
import sys
from email import policy
from email.parser import BytesParser

reader = BytesParser(policy=policy.default)
for line in sys.stdin:
    raw = bytes.fromhex(line.strip())
    try:
        message = reader.parsebytes(raw, headersonly=True)
        fields = message.get_all("from", [])
        answer = {
            "fields": len(fields),
            # What was not ASCII stands in them as lone surrogates.
            "addresses": [
                address.addr_spec.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                for field in fields
                for address in field.addresses
            ],
            "groups": sum(1 for field in fields for group in field.groups if group.display_name is not None),
            "defects": sorted({type(defect).__name__ for field in fields for defect in field.defects}),
        }
    except Exception as error:
        answer = {"failed": type(error).__name__}
    print(json.dumps(answer))
